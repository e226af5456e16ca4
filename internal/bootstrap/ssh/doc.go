// Package sshboot starts commands over SSH (RFC 4251-4254), the bootstrap that
// needs nothing on a host but sshd. It has two halves.
//
// The launcher half knows the user: Config applies ssh_config and known_hosts
// and turns each host into a Target, a plain value with all that is needed to
// dial it; Authority holds the private keys and signs. Only Targets and public
// keys travel into the tree.
//
// The dial half runs in the launcher and in every node launch agent: Dialer is a
// bootstrap.Piper over a function that finds Targets and a function that signs. In the
// launcher that is Authority.Sign, in an agent a request up the tree which ends in the
// same Authority (docs/security.md). With each request goes the server's proof from the
// key exchange (Proof): signed data do not name their receiver.
//
// One table, keywords, decides on each keyword of ssh_config: it is honoured, or stops
// the start, or does no harm. `ask` means `yes`: nobody can be asked.
//
// Not here: the system's ssh as a bootstrap (package internal/bootstrap/exec), which
// alone knows GSSAPI and passwords; bringing the agent to the
// host (package stage); retries and windows (package agent).
package sshboot

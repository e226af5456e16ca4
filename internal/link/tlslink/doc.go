// Package tlslink opens TCP connections between agents that a resource manager
// started in bulk, without a byte pipe to each (docs/architecture.md). A
// yamuxlink over the connection makes it a link.
//
// # Model
//
// All agents of a job hold one random Secret, which they were given on standard
// input or in a file that only its owner can read: never in an argument or in
// the environment, which other users or ranks can see. Connections are TLS 1.3
// with a throw-away certificate that proves nothing. Both ends then prove that
// they know the secret:
//
//	dialer                                    listener
//	  | ---------- TLS 1.3 handshake ----------- |
//	  | -- HMAC(secret, "dialer", exporter) ---> |  refuses, or answers
//	  | <- HMAC(secret, "listener", exporter) -- |
//
// where the exporter is keying material of this one TLS session (RFC 8446,
// section 7.5). A proof is therefore of no use on another connection (replay,
// a man in the middle with a TLS session on either side), nor in the other
// direction (reflection), and the listener shows nothing to a dialer that has
// not shown its own.
//
// A peer that has not proved itself holds one of a bounded number of places for
// a bounded time, and loses it to others who call when there is none left (type
// places). Somebody on the network can thereby have honest dialers call again, but
// neither read, write nor join.
//
// Not here: the node of a connection (the agent's hello has it), retries, and liveness
// (yamuxlink).
package tlslink

package sshboot

import (
	"net"
	"strconv"
	"time"
)

// Policy selects the host keys that are accepted (StrictHostKeyChecking). Its numbers
// travel in the tree and are stable.
type Policy uint8

// The policies. A revoked key is never accepted.
const (
	Strict    Policy = iota // only known keys ("yes", and "ask")
	AcceptNew               // any key of a host of which none is known ("accept-new")
	AcceptAny               // any key ("no", "off")
)

// Target is all that is needed to dial one host. It is made by Config.Target
// and never changes afterwards, but for Addr (Resolve) and Keys
// (OpenAuthority); fields without a number stay in the launcher.
type Target struct {
	Name     string `cbor:"1,keyasint"`           // as the user gave it
	HostName string `cbor:"2,keyasint"`           // the name or address to connect to
	Addr     string `cbor:"3,keyasint,omitempty"` // its IP address, where the launcher could resolve it
	Port     int    `cbor:"4,keyasint"`
	User     string `cbor:"5,keyasint"`

	// KeyName is the name that a host certificate must bear: HostKeyAlias,
	// else HostName.
	KeyName string `cbor:"6,keyasint,omitempty"`
	// HostKeys, CAs and Revoked are the known_hosts entries that match, as
	// public key blobs (RFC 4253 section 6.6).
	HostKeys [][]byte `cbor:"7,keyasint,omitempty"`
	CAs      [][]byte `cbor:"8,keyasint,omitempty"`
	Revoked  [][]byte `cbor:"9,keyasint,omitempty"`
	Policy   Policy   `cbor:"10,keyasint,omitempty"`

	// Keys are the indices of the user keys to offer, in this order; empty
	// means all. An index that no key has stands for no key at all.
	Keys []int `cbor:"11,keyasint,omitempty"`
	// Kex are the key exchange methods to propose; empty means the default, as
	// for all lists of algorithms.
	Kex algorithmList `cbor:"12,keyasint,omitempty"`
	// ConnectTimeout bounds the TCP connection; 0 means the Dialer's own.
	ConnectTimeout time.Duration `cbor:"13,keyasint,omitempty"`
	// Attempts is the number of tries to connect at least, once a second; 0 leaves that
	// to the caller.
	Attempts int `cbor:"14,keyasint,omitempty"`

	// Ciphers and MACs are those to propose.
	Ciphers algorithmList `cbor:"20,keyasint,omitempty"`
	MACs    algorithmList `cbor:"21,keyasint,omitempty"`
	// HostKeyAlgorithms are for the host's proof, CASignatures for the signature of its
	// certificate, and KeyAlgorithms for the user's keys.
	HostKeyAlgorithms algorithmList `cbor:"22,keyasint,omitempty"`
	CASignatures      algorithmList `cbor:"23,keyasint,omitempty"`
	KeyAlgorithms     algorithmList `cbor:"24,keyasint,omitempty"`
	// MinRSA is the least size of an RSA key, in bits; 0 means 1024.
	MinRSA int `cbor:"25,keyasint,omitempty"`
	// RekeyBytes is the number of bytes sent under one key; 0 means the default.
	RekeyBytes uint64 `cbor:"26,keyasint,omitempty"`
	// Network is "tcp4" or "tcp6" where addresses of one family are to be
	// used.
	Network string `cbor:"27,keyasint,omitempty"`

	// Jump are the hosts to go through, nearest first (ProxyJump). Only the
	// launcher dials this way; agents sit behind the jump hosts.
	Jump []Target `cbor:"-"`
	// Proxy is the ProxyCommand by which the launcher reaches the host, "" for none.
	Proxy string `cbor:"-"`
	// Identities are the private key files to use, and IdentitiesOnly keeps
	// other keys of the ssh-agent from being offered.
	Identities     []Identity `cbor:"-"`
	IdentitiesOnly bool       `cbor:"-"`
	// Batch has nobody asked for the passphrase of one (BatchMode).
	Batch bool `cbor:"-"`
	// Certificates are further certificates of the user's keys, and Agent is
	// the ssh-agent's socket: "none", or empty for AuthorityConfig's.
	Certificates []string `cbor:"-"`
	Agent        string   `cbor:"-"`
	// KnownHostsFile is the file to which the user would add this host's key, and
	// HashKnownHosts says that its name is hashed there.
	KnownHostsFile string `cbor:"-"`
	HashKnownHosts bool   `cbor:"-"`

	// ConfigFile and KeyFile are for advice only: the configuration that was given
	// instead of the usual ones, and the known_hosts file that has the host's keys,
	// else KnownHostsFile, if it is not the usual one.
	ConfigFile string `cbor:"30,keyasint,omitempty"`
	KeyFile    string `cbor:"31,keyasint,omitempty"`
}

// Identity is a private key file.
type Identity struct {
	Path string
	// Given says that the configuration names it, so that its absence is
	// worth a word.
	Given bool
}

// PublicKey is a user key that may be offered to hosts.
type PublicKey struct {
	Blob []byte `cbor:"1,keyasint"` // RFC 4253 section 6.6, or a certificate
	Name string `cbor:"2,keyasint"` // file or ssh-agent comment, for messages
	// Touch says that each signature needs a person at a security key.
	Touch bool `cbor:"3,keyasint,omitempty"`
}

// address returns the address to connect to when names are resolved here.
func (t *Target) address() string {
	if t.Addr != "" {
		return net.JoinHostPort(t.Addr, strconv.Itoa(t.Port))
	}
	return t.namedAddress()
}

// namedAddress returns the address to connect to when the far end of a jump resolves.
func (t *Target) namedAddress() string {
	return net.JoinHostPort(t.HostName, strconv.Itoa(t.Port))
}

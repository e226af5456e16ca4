package sshboot

import (
	"errors"
	"fmt"

	"golang.org/x/crypto/ssh"
)

// maxSignData bounds the data of a SignRequest, in bytes.
const maxSignData = 64 << 10

// authRequest is signed by a client to log in with a public key (RFC 4252 section 7).
type authRequest struct {
	session   []byte
	user      string
	algorithm string
	key       []byte
}

// parseAuthRequest takes the signed data apart. It accepts that one message and nothing
// else, so that its signature can serve only to log in.
func parseAuthRequest(data []byte) (authRequest, error) {
	var r authRequest
	if len(data) > maxSignData {
		return r, fmt.Errorf("longer than %d bytes", maxSignData)
	}
	session, rest, ok := cutString(data)
	// A session identifier is a hash: SHA-1 to SHA-512.
	if !ok || len(session) < 20 || len(session) > 64 {
		return r, errors.New("session identifier is malformed")
	}
	const msgUserAuthRequest = 50 // RFC 4252 section 6
	if len(rest) == 0 || rest[0] != msgUserAuthRequest {
		return r, errors.New("not a user authentication request")
	}
	rest = rest[1:]
	var fields [3][]byte
	for i, what := range []string{"user name", "service", "method"} {
		if fields[i], rest, ok = cutString(rest); !ok {
			return r, fmt.Errorf("%s is malformed", what)
		}
	}
	if service := string(fields[1]); service != "ssh-connection" {
		return r, fmt.Errorf("service is %.40q, not ssh-connection", service)
	}
	if method := string(fields[2]); method != "publickey" {
		return r, fmt.Errorf("method is %.40q, not publickey", method)
	}
	if len(rest) == 0 || rest[0] != 1 {
		return r, errors.New("request bears no signature")
	}
	algorithm, rest, ok := cutString(rest[1:])
	if !ok {
		return r, errors.New("algorithm is malformed")
	}
	key, rest, ok := cutString(rest)
	if !ok {
		return r, errors.New("public key is malformed")
	}
	if len(rest) != 0 {
		return r, errors.New("bytes follow the public key")
	}
	return authRequest{session: session, user: string(fields[0]), algorithm: string(algorithm), key: key}, nil
}

// signatureAlgorithms lists, by key type, the algorithms that may be asked for
// and the signature format each means. RSA with SHA-1 is not among them.
var signatureAlgorithms = map[string]map[string]string{
	ssh.KeyAlgoED25519:      {ssh.KeyAlgoED25519: ssh.KeyAlgoED25519},
	ssh.KeyAlgoECDSA256:     {ssh.KeyAlgoECDSA256: ssh.KeyAlgoECDSA256},
	ssh.KeyAlgoECDSA384:     {ssh.KeyAlgoECDSA384: ssh.KeyAlgoECDSA384},
	ssh.KeyAlgoECDSA521:     {ssh.KeyAlgoECDSA521: ssh.KeyAlgoECDSA521},
	ssh.KeyAlgoSKED25519:    {ssh.KeyAlgoSKED25519: ssh.KeyAlgoSKED25519},
	ssh.KeyAlgoSKECDSA256:   {ssh.KeyAlgoSKECDSA256: ssh.KeyAlgoSKECDSA256},
	ssh.KeyAlgoRSA:          {ssh.KeyAlgoRSASHA256: ssh.KeyAlgoRSASHA256, ssh.KeyAlgoRSASHA512: ssh.KeyAlgoRSASHA512},
	ssh.CertAlgoED25519v01:  {ssh.CertAlgoED25519v01: ssh.KeyAlgoED25519},
	ssh.CertAlgoECDSA256v01: {ssh.CertAlgoECDSA256v01: ssh.KeyAlgoECDSA256},
	ssh.CertAlgoECDSA384v01: {ssh.CertAlgoECDSA384v01: ssh.KeyAlgoECDSA384},
	ssh.CertAlgoECDSA521v01: {ssh.CertAlgoECDSA521v01: ssh.KeyAlgoECDSA521},
	ssh.CertAlgoRSAv01: {
		ssh.CertAlgoRSASHA256v01: ssh.KeyAlgoRSASHA256, ssh.CertAlgoRSASHA512v01: ssh.KeyAlgoRSASHA512,
	},
	ssh.CertAlgoSKED25519v01:  {ssh.CertAlgoSKED25519v01: ssh.KeyAlgoSKED25519},
	ssh.CertAlgoSKECDSA256v01: {ssh.CertAlgoSKECDSA256v01: ssh.KeyAlgoSKECDSA256},
}

// needsTouch says that a key of that type lives in a security key.
func needsTouch(keyType string) bool {
	switch keyType {
	case ssh.KeyAlgoSKED25519, ssh.KeyAlgoSKECDSA256, ssh.CertAlgoSKED25519v01, ssh.CertAlgoSKECDSA256v01:
		return true
	}
	return false
}

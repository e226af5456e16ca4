package sshboot

import (
	"bytes"
	"crypto/rsa"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
)

// hostKeyError is the refusal of a host key.
type hostKeyError struct {
	text, hint string
}

func (e *hostKeyError) Error() string { return e.text }

// plainHostKeys and certHostKeys are the host key algorithms that we accept,
// cheapest first. RSA with SHA-1 is not among them.
var (
	plainHostKeys = []string{
		ssh.KeyAlgoED25519, ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521,
		ssh.KeyAlgoRSASHA256, ssh.KeyAlgoRSASHA512,
	}
	certHostKeys = []string{
		ssh.CertAlgoED25519v01, ssh.CertAlgoECDSA256v01, ssh.CertAlgoECDSA384v01, ssh.CertAlgoECDSA521v01,
		ssh.CertAlgoRSASHA256v01, ssh.CertAlgoRSASHA512v01,
	}
)

// hostKeyAlgorithms returns those under which the host would show a key that we
// know; where none is known, or any will do, all follow that the configuration
// allows.
func (t *Target) hostKeyAlgorithms() []string {
	known := make(map[string]bool)
	for _, blob := range t.HostKeys {
		known[keyType(blob)] = true
	}
	allowed := t.HostKeyAlgorithms.or(defaultHostKeys)
	var ours, others []string
	for _, a := range allowed {
		switch {
		case slices.Contains(certHostKeys, a):
			if len(t.CAs) > 0 {
				ours = append(ours, a)
			}
		case known[a] || known[ssh.KeyAlgoRSA] && (a == ssh.KeyAlgoRSASHA256 || a == ssh.KeyAlgoRSASHA512):
			ours = append(ours, a)
		default:
			others = append(others, a)
		}
	}
	switch {
	case len(ours)+len(others) == 0:
		return allowed // certificates alone, though no authority is known
	case len(ours) > 0 && t.Policy != AcceptAny:
		return ours
	}
	return append(ours, others...)
}

// minRSA is the least number of bits that ssh accepts.
const minRSA = 1024

// checkSize refuses RSA keys that are too small.
func (t *Target) checkSize(key ssh.PublicKey) error {
	k, ok := key.(ssh.CryptoPublicKey)
	if !ok {
		return nil
	}
	least := max(t.MinRSA, minRSA)
	if r, ok := k.CryptoPublicKey().(*rsa.PublicKey); ok && r.N.BitLen() < least {
		return fmt.Errorf("RSA key has %d bits, less than %d", r.N.BitLen(), least)
	}
	return nil
}

// checkHostKey decides whether to accept the key that the host showed. Fresh
// says that it was accepted where none was known, and so is to be recorded.
func (t *Target) checkHostKey(key ssh.PublicKey) (fresh bool, err error) {
	plain := key
	cert, isCert := key.(*ssh.Certificate)
	if isCert {
		plain = cert.Key
	}
	if contains(t.Revoked, plain) || isCert && contains(t.Revoked, cert.SignatureKey) {
		return false, &hostKeyError{
			"host key " + fingerprint(plain) + " is revoked",
			"known_hosts marks it @revoked: do not trust this host before its administrator has replaced the key",
		}
	}
	if err := t.checkSize(plain); err != nil {
		return false, &hostKeyError{
			"host key " + fingerprint(plain) + ": " + err.Error(),
			"the host needs a new key; RequiredRSASize in the ssh configuration says what is enough",
		}
	}
	if isCert && contains(t.CAs, cert.SignatureKey) {
		if err := t.checkCert(cert); err != nil {
			return false, &hostKeyError{
				fmt.Sprintf("host certificate of %s: %s", fingerprint(plain), strings.TrimPrefix(err.Error(), "ssh: ")),
				"ask the administrator to renew the host's certificate",
			}
		}
		return false, nil
	}
	if contains(t.HostKeys, plain) {
		return false, nil
	}
	known := len(t.HostKeys)+len(t.CAs) > 0
	switch {
	case t.Policy == AcceptAny, t.Policy == AcceptNew && !known:
		return !known, nil
	case known:
		return false, &hostKeyError{
			fmt.Sprintf("host key %s is not the one in known_hosts (%s)", fingerprint(plain), t.knownFingerprints()),
			fmt.Sprintf("either the host was reinstalled or someone is in between; once sure, remove the old key: %s", t.removeKey()),
		}
	}
	return false, &hostKeyError{
		"host key " + fingerprint(plain) + " is not known",
		t.addKeyHint(),
	}
}

// checkCert checks a certificate of a known authority. Its principals may be
// patterns, as in OpenSSH.
func (t *Target) checkCert(cert *ssh.Certificate) error {
	if cert.CertType != ssh.HostCert {
		return errors.New("it is not for hosts")
	}
	if allowed := t.CASignatures.or(defaultCASignatures); !slices.Contains(allowed, cert.Signature.Format) {
		return fmt.Errorf("it is signed with %.40s, which is none of %s", cert.Signature.Format, strings.Join(allowed, ", "))
	}
	principal := t.KeyName
	for _, p := range cert.ValidPrincipals {
		if matchPattern(strings.ToLower(p), strings.ToLower(t.KeyName)) {
			principal = p
			break
		}
	}
	return new(ssh.CertChecker).CheckCert(principal, cert)
}

func (t *Target) knownFingerprints() string {
	var out []string
	for _, blob := range t.HostKeys {
		if key, err := ssh.ParsePublicKey(blob); err == nil {
			out = append(out, fingerprint(key))
		}
	}
	if len(t.CAs) > 0 {
		out = append(out, fmt.Sprintf("%d certificate authorities", len(t.CAs)))
	}
	return strings.Join(out, ", ")
}

// fingerprint is "TYPE SHA256:..." as ssh-keygen -l prints it.
func fingerprint(key ssh.PublicKey) string { return key.Type() + " " + ssh.FingerprintSHA256(key) }

func contains(blobs [][]byte, key ssh.PublicKey) bool {
	want := key.Marshal()
	return slices.ContainsFunc(blobs, func(b []byte) bool { return bytes.Equal(b, want) })
}

// knownHostsLine returns the line that makes key known.
func (t *Target) knownHostsLine(key ssh.PublicKey) string {
	name := t.KeyName
	if t.Port != 22 && t.KeyName == t.HostName {
		name = "[" + name + "]:" + fmt.Sprint(t.Port)
	}
	if name = strings.ToLower(name); t.HashKnownHosts {
		name = hashName(name)
	}
	return name + " " + strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key)))
}

// noCommonHostKey explains a host that has no key of a type that we know.
func (t *Target) noCommonHostKey(offered []string) *hostKeyError {
	return &hostKeyError{
		fmt.Sprintf("host has keys of other types (%s) than known_hosts (%s)",
			strings.Join(offered, ", "), strings.Join(t.hostKeyAlgorithms(), ", ")),
		t.addKeyHint(),
	}
}

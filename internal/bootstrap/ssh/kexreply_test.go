package sshboot

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"github.com/golaunch/golaunch/internal/bootstrap/bootstraptest"
)

// chopped is a transport that reads in pieces.
type chopped struct {
	transport
	reader io.Reader
}

func (c *chopped) Read(p []byte) (int, error) { return c.reader.Read(p) }

// shake does the handshake of a client, and returns the session identifier and
// the proof that was in it.
func shake(t testing.TB, conn net.Conn, kex string) (session []byte, proof *Proof) {
	t.Helper()
	w := &witness{transport: conn}
	config := &ssh.ClientConfig{User: "ann", HostKeyCallback: ssh.InsecureIgnoreHostKey()}
	config.KeyExchanges = []string{kex}
	config.Auth = []ssh.AuthMethod{ssh.PublicKeysCallback(func() ([]ssh.Signer, error) {
		proof = w.proof.Load()
		return []ssh.Signer{observer{newSigner(t, "ed25519"), &session}}, nil
	})}
	c, _, _, err := ssh.NewClientConn(w, "", config)
	if err == nil {
		c.Close()
	}
	require.NotEmpty(t, session, "%v", err)
	return session, proof
}

// observer is a Signer that keeps the session identifier that it signs.
type observer struct {
	ssh.Signer
	session *[]byte
}

func (o observer) Sign(rand io.Reader, data []byte) (*ssh.Signature, error) {
	request, err := parseAuthRequest(data)
	if *o.session = request.session; err != nil {
		return nil, err
	}
	return o.Signer.Sign(rand, data)
}

// requireProof checks that a proof is the server's, of that session.
func requireProof(t testing.TB, p *Proof, key ssh.PublicKey, session []byte) {
	t.Helper()
	require.NotNil(t, p)
	require.Equal(t, key.Marshal(), p.HostKey)
	signature, ok := parseSignature(p.Signature)
	require.True(t, ok)
	require.NoError(t, key.Verify(session, signature))
}

// Each key exchange that can be proposed has its reply read, with each type of
// host key, in pieces of any size.
func TestProofOfEachKeyExchange(t *testing.T) {
	whole := func(r io.Reader) io.Reader { return r }
	for _, kex := range append(ssh.SupportedAlgorithms().KeyExchanges, ssh.InsecureAlgorithms().KeyExchanges...) {
		t.Run(kex, func(t *testing.T) { proofOver(t, kex, "ed25519", whole) })
	}
	for _, kind := range []string{"ed25519", "ecdsa", "rsa"} {
		for name, pieces := range map[string]func(io.Reader) io.Reader{"whole": whole, "bytes": iotest.OneByteReader, "halves": iotest.HalfReader} {
			t.Run(kind+" "+name, func(t *testing.T) { proofOver(t, ssh.KeyExchangeCurve25519, kind, pieces) })
		}
	}
}

func proofOver(t *testing.T, kex, kind string, pieces func(io.Reader) io.Reader) {
	key := newSigner(t, kind)
	config := &ssh.ServerConfig{PublicKeyCallback: func(ssh.ConnMetadata, ssh.PublicKey) (*ssh.Permissions, error) { return nil, nil }}
	config.KeyExchanges = []string{kex}
	config.AddHostKey(key)
	port := listen(t, func(c net.Conn) {
		if s, _, _, err := ssh.NewServerConn(c, config); err == nil {
			s.Close()
		}
	})
	conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	require.NoError(t, err)
	defer conn.Close()
	session, proof := shake(t, &chopped{conn, pieces(conn)}, kex)
	requireProof(t, proof, key.PublicKey(), session)
}

// TestProofOfOpenSSH logs in to a real sshd by each key exchange that those of
// the last ten years have.
func TestProofOfOpenSSH(t *testing.T) {
	s := bootstraptest.StartSSHD(t)
	for _, kex := range []string{
		ssh.KeyExchangeCurve25519, ssh.KeyExchangeECDHP256, ssh.KeyExchangeECDHP384, ssh.KeyExchangeECDHP521,
		ssh.KeyExchangeDHGEXSHA256, ssh.KeyExchangeDH14SHA256, ssh.KeyExchangeDH16SHA512,
	} {
		t.Run(kex, func(t *testing.T) {
			d, targets := reach(t, s.Config, func(cfg *DialerConfig) {
				sign := cfg.Sign
				cfg.Sign = func(ctx context.Context, r SignRequest) ([]byte, error) {
					request, err := parseAuthRequest(r.Data)
					require.NoError(t, err)
					requireProof(t, &r.Proof, s.HostKey, request.session)
					return sign(ctx, r)
				}
			}, "n0")
			targets[0].Kex = listOf(kex)
			p, err := d.Start(t.Context(), n0, []string{"true"})
			require.NoError(t, err)
			require.NoError(t, p.Close())
		})
	}
}

// str returns a string of RFC 4251 section 5.
func str(s string) string {
	return string(binary.BigEndian.AppendUint32(nil, uint32(len(s)))) + s
}

// packet returns a packet in the clear.
func packet(message byte, payload string, padding int) string {
	length := binary.BigEndian.AppendUint32(nil, uint32(2+len(payload)+padding))
	return string(append(length, byte(padding), message)) + payload + strings.Repeat("\x00", padding)
}

const keyBlob = "\x00\x00\x00\x0bssh-ed25519 and so on"

func TestExchangeReader(t *testing.T) {
	reply := str(keyBlob) + str("point") + str("signature")
	good := packet(31, reply, 7)
	want := &Proof{HostKey: []byte(keyBlob), Signature: []byte("signature")}
	init := "SSH-2.0-x\r\n" + packet(20, strings.Repeat("algorithms", 100), 4)
	for name, tc := range map[string]struct {
		sent string
		want *Proof
	}{
		"reply":                      {init + good, want},
		"reply of a group exchange":  {init + packet(31, str("prime")+str("generator"), 5) + packet(33, reply, 5), want},
		"lines before the version":   {"hello\nSSH\n\nxSSH-\n" + init + good, want},
		"messages to be passed over": {init + packet(2, str("ignore"), 9) + packet(4, "", 255) + good, want},
		"no padding":                 {init + packet(31, reply, 0), want},
		"a guess before it":          {init + packet(31, str(keyBlob)+str("")+str("guess"), 3) + good, want},
		"a long packet before it":    {init + packet(31, strings.Repeat("x", maxReply), 0) + good, want},
		"only a version":             {"SSH-2.0-x\n", nil},
		"no version":                 {strings.Repeat("x", 1000) + good, nil},
		"after the keys are new":     {init + packet(21, "", 10) + good, nil},
		"another message":            {init + packet(30, reply, 3), nil},
		"cut short":                  {init + good[:len(good)-1], nil},
		"a string too many":          {init + packet(31, reply+str(""), 0), nil},
		"bytes too many":             {init + packet(31, reply+"x", 0), nil},
		"a string too few":           {init + packet(31, str(keyBlob)+str("point"), 0), nil},
		"a string that is too long":  {init + packet(31, str(keyBlob)+str("point")+"\x7f\xff\xff\xffx", 0), nil},
		"no key":                     {init + packet(31, str("")+str("point")+str("signature"), 0), nil},
		"all padding":                {init + "\x00\x00\x00\x05\x05\x1f" + "1234", nil},
		"padding and no message":     {init + "\x00\x00\x00\x05\x04\x1f" + "1234", nil},
		"empty packet":               {init + "\x00\x00\x00\x00\x00\x1f" + good, nil},
		"a packet beyond the bound":  {init + "\x00\x04\x00\x01\x00\x1f" + good, nil},
		"a packet of 4 GiB":          {init + "\xff\xff\xff\xff\x00\x1f" + good, nil},
	} {
		t.Run(name, func(t *testing.T) {
			for _, size := range []int{1, 2, 5, 6, 7, 1 << 20} {
				require.Equal(t, tc.want, feed(new(exchangeReader), []byte(tc.sent), size), "in pieces of %d", size)
			}
		})
	}
}

// feed feeds r in pieces, and returns the last proof.
func feed(r *exchangeReader, sent []byte, size int) (proof *Proof) {
	for len(sent) > 0 {
		n := min(size, len(sent))
		if p := r.feed(sent[:n]); p != nil {
			proof = p
		}
		sent = sent[n:]
	}
	return proof
}

// Announced bytes take no memory before they come, and after the exchange nothing is
// held.
func TestExchangeReaderIsBounded(t *testing.T) {
	r := new(exchangeReader)
	feed(r, []byte("SSH-2.0-x\n\x00\x01\x00\x00\x00\x1f"), 3)
	require.Empty(t, r.body)
	flood := bytes.Repeat([]byte{'x'}, 1<<20)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 1000 {
		r.feed(flood)
		require.LessOrEqual(t, cap(r.line)+cap(r.head)+cap(r.body), 2*maxReply)
	}
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(16<<20))
}

// Whatever comes, in whatever pieces, is read alike and held within bounds.
func FuzzExchangeReader(f *testing.F) {
	init := "SSH-2.0-x\n" + packet(20, "algorithms", 4)
	reply := str(keyBlob) + str("point") + str("signature")
	f.Add([]byte(init+packet(31, reply, 7)), 3)
	f.Add([]byte(init+packet(31, str("p")+str("g"), 0)+packet(33, reply, 255)+packet(21, "", 10)), 1)
	f.Add([]byte("SSH-\n\xff\xff\xff\xff\x00\x1f"), 100)
	f.Fuzz(func(t *testing.T, sent []byte, size int) {
		whole := new(exchangeReader)
		want := whole.feed(sent)
		if want != nil {
			require.NotEmpty(t, keyType(want.HostKey))
			require.True(t, bytes.Contains(sent, []byte(str(string(want.HostKey)))))
			require.True(t, bytes.Contains(sent, []byte(str(string(want.Signature)))))
		}
		r := new(exchangeReader)
		require.Equal(t, want, feed(r, sent, max(size, 1)))
		require.LessOrEqual(t, len(r.line)+len(r.head)+len(r.body), maxReply+packetHead)
	})
}

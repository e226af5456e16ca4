package scale

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/crypto/ssh"

	sshboot "github.com/golaunch/golaunch/internal/bootstrap/ssh"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
)

// microNodes is the size of the job whose messages are timed.
const microNodes = 4096

// microTime is the processor time spent on each thing.
const microTime = 300 * time.Millisecond

// micro measures the costs that show in one process: the encoders, and the launcher's
// part in a log-in.
func micro(ctx context.Context, c *costs) error {
	launch, err := launchOf(microNodes, 16)
	if err != nil {
		return err
	}
	z, err := newSizes(microNodes, 16)
	if err != nil {
		return err
	}
	below := overlay.Range{Self: host(0), Common: z.common}
	for i := range microNodes {
		below.Hosts = append(below.Hosts, host(i))
	}
	code := overlay.Encode(launch)
	c.Decode = perThousand(len(code), func() { _, err = overlay.Decode[overlay.Launch](code) })
	if err != nil {
		return err
	}
	code = overlay.Encode(below)
	c.Encode = perThousand(len(code), func() { overlay.Encode(below) })
	c.Decode = max(c.Decode, perThousand(len(code), func() { _, err = overlay.Decode[overlay.Range](code) }))
	if err != nil {
		return err
	}
	c.Sign, err = signing(ctx)
	return err
}

func perThousand(bytes int, do func()) time.Duration {
	return time.Duration(float64(timed(do)) * 1000 / float64(bytes))
}

// timed returns the processor time of one call of do.
func timed(do func()) time.Duration {
	begin, count := ownCPU(), 0
	for ownCPU()-begin < microTime {
		do()
		count++
	}
	return (ownCPU() - begin) / time.Duration(count)
}

// ownCPU returns the processor time of this process so far.
func ownCPU() time.Duration {
	var r syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r) // it has no way to fail
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// proving returns the proof of a host that has key, and the launcher's check of one.
func proving(key ed25519.PrivateKey, session []byte) (proof sshboot.Proof, check func(sshboot.Proof) error, err error) {
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		return proof, nil, err
	}
	signature, err := signer.Sign(rand.Reader, session)
	if err != nil {
		return proof, nil, err
	}
	return sshboot.Proof{HostKey: signer.PublicKey().Marshal(), Signature: ssh.Marshal(signature)}, func(p sshboot.Proof) error {
		key, err := ssh.ParsePublicKey(p.HostKey)
		if err != nil {
			return err
		}
		var signature ssh.Signature
		if err := ssh.Unmarshal(p.Signature, &signature); err != nil {
			return err
		}
		return key.Verify(session, &signature)
	}, nil
}

// signing returns the launcher's time for one request for a signature, from its
// decoding to the encoded answer, with the check of the host's proof.
func signing(ctx context.Context) (time.Duration, error) {
	dir, err := os.MkdirTemp("", "scalebench-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return 0, err
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		return 0, err
	}
	file := filepath.Join(dir, "id_ed25519")
	if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
		return 0, err
	}
	target := target(0)
	target.Identities = []sshboot.Identity{{Path: file, Given: true}}
	authority, err := sshboot.OpenAuthority(ctx, sshboot.AuthorityConfig{Targets: []sshboot.Target{target}})
	if err != nil {
		return 0, err
	}
	defer authority.Close()
	if len(authority.Keys()) != 1 {
		return 0, fmt.Errorf("signing: %v", authority.Notes())
	}
	key := authority.Keys()[0].Blob
	session := make([]byte, 32)
	proof, check, err := proving(private, session)
	if err != nil {
		return 0, err
	}
	data := ssh.Marshal(struct {
		Session               []byte
		Kind                  byte
		User, Service, Method string
		Signed                bool
		Algorithm             string
		Key                   []byte
	}{session, 50, target.User, "ssh-connection", "publickey", true, ssh.KeyAlgoED25519, key})
	code := overlay.Encode(overlay.SignRequest{ID: 1, Request: sshboot.SignRequest{From: -1, Data: data, Proof: proof}, By: 1})
	took := timed(func() {
		var q overlay.SignRequest
		var signature []byte
		if q, err = overlay.Decode[overlay.SignRequest](code); err == nil {
			q.Request.From = job.NoHost // an agent's may be signed only once
			signature, err = authority.Sign(ctx, q.Request)
			err = errors.Join(err, check(q.Request.Proof))
		}
		overlay.Encode(overlay.SignAnswer{ID: q.ID, Signature: signature})
	})
	return took, err
}

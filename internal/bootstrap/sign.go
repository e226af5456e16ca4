package bootstrap

import (
	"context"

	"github.com/golaunch/golaunch/internal/job"
)

// Authority makes signatures in the launcher, where the keys are. It may be used
// from several goroutines.
type Authority interface {
	// Allow lets the agent on root ask for the hosts of parts, and the agents below
	// it for those of their own part.
	Allow(root job.HostIndex, parts [][]job.HostIndex)
	// Sign makes one signature. A *RefusedError is final.
	Sign(ctx context.Context, r SignRequest) ([]byte, error)
	// Shared are groups of hosts that the proofs cannot tell apart.
	Shared() [][]job.HostIndex
	// Seal ends signing for good.
	Seal()
	// Close releases the keys.
	Close()
}

// SignRequest asks the launcher for one signature.
type SignRequest struct {
	// From is the agent that asks, job.NoHost for the launcher itself. The
	// launcher fills it in from the link the request came over; it does not
	// travel, because an agent's word for it is worth nothing.
	From job.HostIndex `cbor:"-"`
	Host job.HostIndex `cbor:"1,keyasint"` // the host to log in to
	Data []byte        `cbor:"2,keyasint"` // to be signed
	// Proof shows that the session that Data begins with is one with Host. An
	// agent must give it.
	Proof Proof `cbor:"3,keyasint"`
}

// Proof identifies a host: its key, and the signature that it has made with it for this
// session.
type Proof struct {
	HostKey   []byte `cbor:"1,keyasint"`
	Signature []byte `cbor:"2,keyasint"`
}

// RefusedError is an Authority's refusal to sign. Asking again is no use.
type RefusedError struct{ Reason string }

// Error renders "signature refused: reason".
func (e *RefusedError) Error() string { return "signature refused: " + e.Reason }

package overlay

import (
	"errors"

	"github.com/golaunch/golaunch/internal/bootstrap"
)

// Refuse makes the answer a refusal.
func (s *SignAnswer) Refuse(err error) {
	var refused *bootstrap.RefusedError
	if s.Refusal = err.Error(); errors.As(err, &refused) {
		s.Refusal, s.Final = refused.Reason, true
	}
}

// Result returns the answer's signature or error.
func (s *SignAnswer) Result() ([]byte, error) {
	switch {
	case s.Final:
		return nil, &bootstrap.RefusedError{Reason: s.Refusal}
	case s.Refusal != "":
		return nil, errors.New(s.Refusal)
	}
	return s.Signature, nil
}

package bootstrap

import (
	"fmt"

	"github.com/fxamacker/cbor/v2"
)

// Names have any encoding: the decoder takes them as they are.
var unpacker = func() cbor.DecMode {
	mode, err := cbor.DecOptions{UTF8: cbor.UTF8DecodeInvalid}.DecMode()
	if err != nil {
		panic(err) // the options above are wrong
	}
	return mode
}()

// Pack encodes a bootstrap's data for its agents' side.
func Pack(v any) ([]byte, error) { return cbor.Marshal(v) }

// Unpack decodes the output of Pack.
func Unpack[T any](packed []byte) (T, error) {
	var v T
	if err := unpacker.Unmarshal(packed, &v); err != nil {
		return v, fmt.Errorf("the launcher's data for the bootstrap: %w", err)
	}
	return v, nil
}

package pmix

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
)

// MaxFrame bounds a frame without its length: a fence's blobs of some hundred thousand
// ranks.
const MaxFrame = 256 << 20

const (
	lengthBytes = 4
	headBytes   = 5 // kind and number of the request
)

// Frame is one message.
type Frame struct {
	Kind    Kind
	Request uint32 // 0 for a message that is neither a request nor an answer
	Body    any    // the struct of its kind
}

// Append appends a message as a frame. The kind is that of the body's struct.
func Append(b []byte, request uint32, body any) []byte {
	at := len(b)
	b = append(b, 0, 0, 0, 0, byte(kindOf(body)))
	b = binary.LittleEndian.AppendUint32(b, request)
	b = appendValue(b, reflect.ValueOf(body))
	binary.LittleEndian.PutUint32(b[at:], uint32(len(b)-at-lengthBytes))
	return b
}

// kindOf finds the kind of a message.
func kindOf(body any) Kind {
	for kind, t := range messages {
		if t == reflect.TypeOf(body) {
			return kind
		}
	}
	panic(fmt.Sprintf("%T is no message", body))
}

// Next takes a frame from the beginning of b, which nobody may change while the frame's
// blobs are used, and says how many bytes that were: 0 where there are too few yet.
func Next(b []byte) (f Frame, n int, err error) {
	if len(b) < lengthBytes {
		return f, 0, nil
	}
	length := binary.LittleEndian.Uint32(b)
	if length < headBytes || length > MaxFrame {
		return f, 0, fmt.Errorf("a frame of %d bytes", length)
	}
	if n = lengthBytes + int(length); len(b) < n {
		return f, 0, nil
	}
	f.Kind, f.Request = Kind(b[lengthBytes]), binary.LittleEndian.Uint32(b[lengthBytes+1:])
	t, known := messages[f.Kind]
	if !known {
		return f, 0, fmt.Errorf("a frame of kind %d", f.Kind)
	}
	v := reflect.New(t).Elem()
	rest, err := parseValue(b[lengthBytes+headBytes:n], v)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%d bytes too many", len(rest))
	}
	if err != nil {
		return f, 0, fmt.Errorf("frame %s: %w", t.Name(), err)
	}
	f.Body = v.Interface()
	return f, n, nil
}

func appendValue(b []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			return append(b, 1)
		}
		return append(b, 0)
	case reflect.Uint8:
		return append(b, byte(v.Uint()))
	case reflect.Uint32:
		return binary.LittleEndian.AppendUint32(b, uint32(v.Uint()))
	case reflect.Uint64:
		return binary.LittleEndian.AppendUint64(b, v.Uint())
	case reflect.Int32:
		return binary.LittleEndian.AppendUint32(b, uint32(v.Int()))
	case reflect.String:
		b = binary.LittleEndian.AppendUint32(b, uint32(v.Len()))
		return append(b, v.String()...)
	case reflect.Struct:
		for i := range v.NumField() {
			b = appendValue(b, v.Field(i))
		}
		return b
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(v.Len()))
	if v.Type().Elem().Kind() == reflect.Uint8 {
		return append(b, v.Bytes()...)
	}
	for i := range v.Len() {
		b = appendValue(b, v.Index(i))
	}
	return b
}

var errShort = errors.New("it ends within a field")

// parseValue reads a value, and returns the bytes behind it. Nothing takes more memory
// than some times the bytes that are there.
func parseValue(b []byte, v reflect.Value) (rest []byte, err error) {
	n := 4 // of the number, or of the length before what it counts
	switch v.Kind() {
	case reflect.Bool, reflect.Uint8:
		n = 1
	case reflect.Uint64:
		n = 8
	case reflect.Struct:
		n = 0
	}
	if len(b) < n {
		return nil, errShort
	}
	field, b := b[:n], b[n:]
	switch v.Kind() {
	case reflect.Bool:
		if field[0] > 1 {
			return nil, fmt.Errorf("%d where 0 or 1 should be", field[0])
		}
		v.SetBool(field[0] == 1)
		return b, nil
	case reflect.Uint8:
		v.SetUint(uint64(field[0]))
		return b, nil
	case reflect.Uint64:
		v.SetUint(binary.LittleEndian.Uint64(field))
		return b, nil
	case reflect.Struct:
		for i := range v.NumField() {
			if b, err = parseValue(b, v.Field(i)); err != nil {
				return nil, err
			}
		}
		return b, nil
	}
	number := binary.LittleEndian.Uint32(field)
	switch v.Kind() {
	case reflect.Uint32:
		v.SetUint(uint64(number))
		return b, nil
	case reflect.Int32:
		v.SetInt(int64(int32(number)))
		return b, nil
	}
	if uint64(number) > uint64(len(b)) { // an item has a byte or more
		return nil, errShort
	}
	switch {
	case v.Kind() == reflect.String:
		v.SetString(string(b[:number]))
		return b[number:], nil
	case v.Type().Elem().Kind() == reflect.Uint8:
		if number > 0 {
			v.SetBytes(b[:number:number])
		}
		return b[number:], nil
	}
	for range number {
		item := reflect.New(v.Type().Elem()).Elem()
		if b, err = parseValue(b, item); err != nil {
			return nil, err
		}
		v.Set(reflect.Append(v, item))
	}
	return b, nil
}

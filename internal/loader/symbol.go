package loader

import (
	"bytes"
	"debug/elf"
	"fmt"
	"slices"
)

// longestText bounds the bytes that Texts reads of one symbol.
const longestText = 4096

// Texts returns the texts that variables of a shared library hold, declared as in
// const char NAME[] = "...", in the order of the names. It is an error if one of them
// is not there.
func Texts(file string, names ...string) ([]string, error) {
	f, err := elf.Open(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	at := make(map[string]elf.Symbol, len(names))
	for _, name := range names {
		at[name] = elf.Symbol{}
	}
	for _, s := range symbols {
		if _, wanted := at[s.Name]; wanted && s.Section != elf.SHN_UNDEF {
			at[s.Name] = s
		}
	}
	texts := make([]string, len(names))
	for i, name := range names {
		if texts[i], err = text(f, at[name]); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", file, name, err)
		}
	}
	return texts, nil
}

// text reads a symbol's bytes, up to the first zero.
func text(f *elf.File, s elf.Symbol) (string, error) {
	if s.Section == elf.SHN_UNDEF || int(s.Section) >= len(f.Sections) {
		return "", fmt.Errorf("no such symbol")
	}
	in := f.Sections[s.Section]
	if in.Type == elf.SHT_NOBITS || s.Value < in.Addr || s.Size > longestText {
		return "", fmt.Errorf("the symbol holds no text")
	}
	b := make([]byte, s.Size)
	if _, err := in.ReadAt(b, int64(s.Value-in.Addr)); err != nil {
		return "", err
	}
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b), nil
}

// Mentions reports whether the constants of a shared library have a text in them. It is
// an error if the file does not say where they are.
func Mentions(file, text string) (bool, error) {
	f, err := elf.Open(file)
	if err != nil {
		return false, err
	}
	defer f.Close()
	constants := f.Section(".rodata")
	if constants == nil {
		return false, fmt.Errorf("%s has no section of constants", file)
	}
	data, err := constants.Data()
	if err != nil {
		return false, fmt.Errorf("%s: %w", file, err)
	}
	return bytes.Contains(data, []byte(text)), nil
}

// Defines reports whether a shared library has a symbol for others.
func Defines(file, name string) (bool, error) {
	f, err := elf.Open(file)
	if err != nil {
		return false, err
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		return false, fmt.Errorf("%s: %w", file, err)
	}
	return slices.ContainsFunc(symbols, func(s elf.Symbol) bool { return s.Name == name && s.Section != elf.SHN_UNDEF }), nil
}

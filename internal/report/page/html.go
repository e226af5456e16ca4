package page

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"strings"
)

//go:embed assets
var assets embed.FS

// scripts are the files of the page's script, in their order.
var scripts = []string{"data.js", "dom.js", "bars.js", "grains.js", "heat.js", "histogram.js", "network.js", "timeline.js", "lines.js", "main.js"}

// mark is in the beginning of every page, so that Is knows it.
const mark = "<!-- golaunch report: "

// Is says whether the beginning of a file, of 512 bytes or all, is that of a page.
func Is(text []byte) bool {
	return bytes.HasPrefix(text, []byte("<!DOCTYPE html>\n"+mark))
}

// asset returns an embedded file.
func asset(name string) string {
	text, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic(err) // it was there when this was built
	}
	return string(text)
}

// HTML returns the page in one file that fetches nothing, which its own policy forbids it
// to. The content of files is in it as compressed data: no text of theirs is HTML.
// Package html/template, of which there is then no need, would have the linker keep all
// methods of all types in an executable that travels to every node.
func (p *Page) HTML() ([]byte, error) {
	model, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	var packed bytes.Buffer
	letters := base64.NewEncoder(base64.StdEncoding, &packed)
	w, err := flate.NewWriter(letters, flate.BestCompression)
	if err != nil {
		return nil, err
	}
	for _, part := range [][]byte{binary.LittleEndian.AppendUint32(nil, uint32(len(model))), model, p.blob} {
		if _, err := w.Write(part); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	if err := letters.Close(); err != nil {
		return nil, err
	}
	script := strings.Builder{}
	script.WriteString("'use strict';\n(() => {\n")
	for _, name := range scripts {
		script.WriteString(asset(name))
	}
	script.WriteString("})();\n")
	style := asset("page.css")
	policy := "default-src 'none'; img-src data:; style-src " + hash(style) + "; script-src " + hash(script.String())
	return []byte(strings.NewReplacer("@POLICY@", policy, "@STYLE@", style, "@SCRIPT@", script.String(), "@DATA@", packed.String()).
		Replace(asset("page.html"))), nil
}

// hash returns the word by which a policy allows a script or style.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

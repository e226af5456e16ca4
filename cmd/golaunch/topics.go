package main

import "embed"

// texts are the topics of help and the manual page that are more than lists:
// paragraphs, and lines that begin with two spaces and stay as they are.
//
//go:embed topics
var texts embed.FS

// topicText returns a text by name.
func topicText(name string) string {
	text, err := texts.ReadFile("topics/" + name + ".txt")
	if err != nil {
		panic(err) // a name misspelt
	}
	return string(text)
}

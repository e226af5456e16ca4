// Package page makes one HTML page of golaunch's records and results: messages between
// ranks and the switches that they pass; the links that carry most; the course of a
// job; the costs of golaunch netsim and the connections of golaunch xrcsim. It is the
// picture of [Subramoni 7.1.1] in a browser.
//
// Inputs.Read tells the kind of a file by its content (input.go). Make makes a Page of them: summaries, tables and
// numbers, all that the page shows (page.go). Page.HTML puts them, compressed, beside the script that draws them
// (html.go, assets). Text of the files never becomes HTML: it is data of the script, which makes text nodes of it.
//
// Package page is pure. Not here: the JSON of --report and the spans of --trace (package report), how profiles are
// recorded (package profile).
package page

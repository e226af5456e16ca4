package page_test

import "github.com/golaunch/golaunch/internal/report/page/pagetest"

// Names of the kit that tests use.
var (
	network     = pagetest.Network
	newRecorded = pagetest.NewProfile
	stencil     = pagetest.Stencil
	shuffled    = pagetest.Shuffled
	random      = pagetest.Random
	traced      = pagetest.Traced
	text        = pagetest.Text
	read        = pagetest.Read
	made        = pagetest.Make
	html        = pagetest.HTML
)

const (
	swept     = pagetest.Swept
	stages    = pagetest.Stages
	connected = pagetest.Connected
)

// Package flood holds the test that another user of the machine calls every listener that
// golaunch has, ten thousand times. It has no code of its own.
package flood

// Package pmixhelper tests golaunch-pmix (native/pmix) by itself: it plays the agents of
// two nodes, with a helper and real ranks each.
package pmixhelper

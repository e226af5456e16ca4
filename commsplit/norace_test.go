//go:build !race

package commsplit

const raced = false

// Package bulk holds the tests of jobs whose agents a resource manager starts all
// at once: they call the launcher and each other (bootstraptest.Bulk plays the
// manager, with processes of this machine for hosts). It has no code of its own.
package bulk

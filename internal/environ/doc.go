// Package environ composes the environment of ranks: variables of the launcher's, and
// those of their node. Variables are NAME=value. Pure.
package environ

// Package environ decides which environment ranks get: what they inherit of the
// launcher's, and what is their node's own. Variables are NAME=value. Pure.
package environ

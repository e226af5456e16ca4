package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAge(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                 "less than a minute old",
		-time.Hour:        "less than a minute old", // its clock is ahead
		time.Minute:       "1 minute old",
		119 * time.Minute: "1 hour old",
		50 * time.Hour:    "2 days old",
	} {
		require.Equal(t, want, age(d), d)
	}
}

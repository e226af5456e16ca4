package proc

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"syscall"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/unix"
)

// helperWord makes the test binary one of the helpers below.
const helperWord = "proc-test-helper"

// agentJob is the job of agentHelper.
const agentJob = "helper-job"

func helperMain(args []string) int {
	switch args[0] {
	case "agent":
		return agentHelper(Options{JobID: agentJob, NoCgroup: args[1] == "true"})
	case "helped":
		if err := helpedAgent(); err != nil {
			fmt.Println(err)
		}
		return 1
	case "user":
		if err := userHelper(); err != nil {
			fmt.Println(err)
			return 1
		}
		return 0
	}
	return 2
}

// helpedAgent is an agent with a helper. It prints the pids of its warden and of that,
// and never ends by itself.
func helpedAgent() error {
	w, err := Start(context.Background(), Options{JobID: helpedJob})
	if err != nil {
		return err
	}
	fmt.Println(w.PID())
	if err := w.OpenJob(job.Cold); err != nil {
		return err
	}
	if err := w.Help(job.Cold, Helper{Argv: []string{"/bin/sh", "-c", sleeper}, Env: []string{"PATH=/usr/bin:/bin"}}); err != nil {
		return err
	}
	for {
		events, err := w.Next()
		if err != nil {
			return err
		}
		for _, e := range events {
			if s, ok := e.(HelperStarted); ok {
				fmt.Println(s.PID)
			}
		}
	}
}

// userHelper runs a rank that leaves something behind, asks for more of a
// resource than it can have, and prints what came of it.
func userHelper() error {
	w, err := Start(context.Background(), Options{JobID: "user-job"})
	if err != nil {
		return err
	}
	defer w.Close()
	var s Spec
	s.Env = []string{"PATH=/usr/bin:/bin"}
	s.Apps = []App{{Argv: []string{"/bin/sh", "-c", "trap '' TERM; setsid sleep 1000 & exit 0"}}}
	for _, resource := range []int{8, 13} { // memlock, nice
		s.Rlimits = append(s.Rlimits, Rlimit{Resource: resource, Cur: unix.Unlimited, Max: unix.Unlimited})
	}
	if err := w.OpenJob(job.Cold); err != nil {
		return err
	}
	const ranks = 2
	for i := range job.Rank(ranks) { // each as a world of its own
		if err := w.Launch(job.Cold, s, []Child{{Rank: i}}); err != nil {
			return err
		}
	}
	fmt.Printf("uid=%d groups\n", os.Getuid())
	ended, digits := 0, regexp.MustCompile("[0-9]+")
	for {
		events, err := w.Next()
		if err != nil {
			break
		}
		for _, e := range events {
			switch e := e.(type) {
			case Note:
				fmt.Println("note:", e.Level, digits.ReplaceAllString(e.Text, "N"))
			case StartFailed:
				return fmt.Errorf("start: %s", e.Text)
			case Exited:
				fmt.Println("status", e.Status.ExitStatus())
				if ended++; ended < ranks {
					continue
				}
				if err := w.Finish(); err != nil {
					return err
				}
			case Gone:
				if e.Text != "" {
					return fmt.Errorf("gone: %s", e.Text)
				}
			}
		}
	}
	w.Close()
	if _, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); err != syscall.ECHILD {
		return fmt.Errorf("a child is left: %v", err) //nolint:errorlint // err may be nil
	}
	fmt.Println("all dead")
	return nil
}

package startup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/crypto/ssh"
	"golang.org/x/sync/errgroup"

	"github.com/golaunch/golaunch/integration/cluster"
)

// floorWord, as its first argument, makes bench the floor of a start-up over SSH: one
// connection of golang.org/x/crypto/ssh per host, on which the account's shell starts
// /bin/true as often as there are ranks. Nothing can start as many over SSH for less
// with that client. With a connection per rank it is the rival of an agent per node in
// table 2.1 of [Sridhar].
const floorWord = "floor"

// floorWindow is the number of hosts to connect to at a time, as golaunch does.
const floorWindow = 8

// floorCommand returns the command that starts the floor on head: a number of
// connections to each of the first nodes, and of ranks on each connection.
func (f *field) floorCommand(nodes, connections, ranks int) []string {
	return f.windowed(floorWindow, nodes, connections, ranks)
}

// windowed returns the same with so many connections being made at a time.
func (f *field) windowed(window, nodes, connections, ranks int) []string {
	key := filepath.Join(f.Home(cluster.Head), ".ssh", "id_ed25519")
	argv := []string{f.self, "startup", floorWord, key, strconv.Itoa(window), strconv.Itoa(ranks)}
	for range connections {
		for _, n := range f.Nodes()[:nodes] {
			argv = append(argv, n.Addr.String()+":22")
		}
	}
	return argv
}

// floor runs on head, with a key file, connections at a time, ranks for each,
// addresses.
func floor(args []string) error {
	if len(args) < 4 {
		return errors.New("floor: want a key file, two numbers and addresses")
	}
	window, err := strconv.Atoi(args[1])
	if err != nil || window < 1 {
		return fmt.Errorf("floor: %q connections at a time", args[1])
	}
	text, err := os.ReadFile(args[0])
	if err != nil {
		return fmt.Errorf("floor: %w", err)
	}
	key, err := ssh.ParsePrivateKey(text)
	if err != nil {
		return fmt.Errorf("floor: %s: %w", args[0], err)
	}
	config := &ssh.ClientConfig{
		User:            "root",
		Auth:            []ssh.AuthMethod{ssh.PublicKeys(key)},
		HostKeyCallback: ssh.InsecureIgnoreHostKey(), // a test cluster's, and a check costs nothing
	}
	script := "i=0; while [ $i -lt " + args[2] + " ]; do /bin/true || exit; i=$((i+1)); done"
	var group errgroup.Group
	group.SetLimit(window)
	for _, addr := range args[3:] {
		group.Go(func() error {
			if err := floorHost(addr, config, script); err != nil {
				return fmt.Errorf("floor: %s: %w", addr, err)
			}
			return nil
		})
	}
	return group.Wait()
}

func floorHost(addr string, config *ssh.ClientConfig, script string) error {
	client, err := ssh.Dial("tcp", addr, config)
	if err != nil {
		return err
	}
	defer client.Close()
	session, err := client.NewSession()
	if err != nil {
		return err
	}
	defer session.Close()
	return session.Run(script)
}

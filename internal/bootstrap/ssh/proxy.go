package sshboot

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/golaunch/golaunch/internal/bootstrap"
)

// proxyWait is the time that the command of a ProxyCommand has to end, and to say why,
// once its connection has ended or is closed.
const proxyWait = 200 * time.Millisecond

// proxyConn is a connection that a ProxyCommand makes: a socket that is the command's
// standard input and output.
type proxyConn struct {
	net.Conn
	cmd    *exec.Cmd
	tail   bootstrap.Tail // its standard error
	exited chan struct{}
}

// runProxy starts a ProxyCommand as ssh does: in the user's shell. Ctrl-C at the
// terminal does not reach it: golaunch may need it to end the job.
func runProxy(command string) (*proxyConn, error) {
	ends, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	mine, its := os.NewFile(uintptr(ends[0]), "proxy"), os.NewFile(uintptr(ends[1]), "proxy")
	defer mine.Close()
	defer its.Close()
	conn, err := net.FileConn(mine)
	if err != nil {
		return nil, err
	}
	p := &proxyConn{Conn: conn, exited: make(chan struct{})}
	p.cmd = exec.Command(userShell(), "-c", "exec "+command)
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = its, its, &p.tail
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	p.cmd.WaitDelay = proxyWait // processes that it leaves may hold standard error open
	if err := p.cmd.Start(); err != nil {
		conn.Close()
		return nil, err
	}
	go func() { // ends with the command
		_ = p.cmd.Wait()
		close(p.exited)
	}()
	return p, nil
}

// Close ends the command, too, as ssh does, and its children. Below nohup nobody heeds
// a hang-up.
func (p *proxyConn) Close() error {
	err := p.Conn.Close()
	for _, s := range []syscall.Signal{syscall.SIGHUP, syscall.SIGTERM} {
		_ = syscall.Kill(-p.cmd.Process.Pid, s) // it may have ended
	}
	return err
}

// explain puts the command's words in the place of a lost connection.
func (p *proxyConn) explain(e *bootstrap.Error, command string) {
	if e.Phase != bootstrap.Connect {
		return
	}
	why := "it ended the connection"
	select {
	case <-p.exited:
		if state := p.cmd.ProcessState; state != nil && !state.Success() {
			why = state.String()
		}
	case <-time.After(proxyWait):
	}
	if said := strings.TrimSpace(p.tail.String()); said != "" {
		why = said[strings.LastIndexByte(said, '\n')+1:]
	}
	e.Err = fmt.Errorf("ProxyCommand %s: %s", command, why)
	e.Hint = "does the command by itself show what sshd says first, as SSH-2.0-OpenSSH?"
}

// userShell runs commands of the configuration, as with ssh.
func userShell() string {
	if shell := os.Getenv("SHELL"); shell != "" {
		return shell
	}
	return "/bin/sh"
}

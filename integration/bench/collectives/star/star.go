package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"

	"github.com/golaunch/golaunch/client"
)

// star is one rank of it.
type star struct {
	rank, size int
	conns      []net.Conn // at rank 0: of each other rank, in order; elsewhere: to rank 0
}

// address is the key of rank 0's, on the bulletin board.
const address = "collbench-star"

// connect connects all ranks to rank 0.
func connect(ctx context.Context, job *client.Client) (*star, error) {
	s := &star{rank: job.Rank(), size: job.Size()}
	if s.rank == 0 {
		return s, s.listen(ctx, job)
	}
	if err := job.Fence(ctx); err != nil {
		return nil, err
	}
	to, found, err := job.Get(ctx, address)
	if err != nil || !found {
		return nil, fmt.Errorf("look the address of rank 0 up: found %v: %w", found, err)
	}
	conn, err := net.Dial("tcp", string(to))
	if err != nil {
		return nil, err
	}
	s.conns = []net.Conn{conn}
	return s, binary.Write(conn, binary.LittleEndian, uint32(s.rank))
}

func (s *star) listen(ctx context.Context, job *client.Client) error {
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		return err
	}
	defer l.Close()
	at := net.JoinHostPort(host, strconv.Itoa(l.Addr().(*net.TCPAddr).Port))
	if err := job.Put(ctx, address, []byte(at)); err != nil {
		return err
	}
	if err := job.Fence(ctx); err != nil {
		return err
	}
	s.conns = make([]net.Conn, s.size-1)
	for range s.conns {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		var from uint32
		if err := binary.Read(conn, binary.LittleEndian, &from); err != nil {
			return err
		}
		if from == 0 || from >= uint32(s.size) || s.conns[from-1] != nil {
			return fmt.Errorf("rank %d connects", from)
		}
		s.conns[from-1] = conn
	}
	return nil
}

// up brings mine of each rank to rank 0, one rank after the other. There take is called
// with the rank and its bytes, which are in into from then on.
func (s *star) up(mine, into []byte, take func(rank int, b []byte)) error {
	for i, conn := range s.conns {
		if s.rank > 0 {
			_, err := conn.Write(mine)
			return err
		}
		if _, err := io.ReadFull(conn, into); err != nil {
			return err
		}
		take(i+1, into)
	}
	return nil
}

// down brings rank 0's bytes to all.
func (s *star) down(b []byte) error {
	for _, conn := range s.conns {
		if s.rank > 0 {
			_, err := io.ReadFull(conn, b)
			return err
		}
		if _, err := conn.Write(b); err != nil {
			return err
		}
	}
	return nil
}

// messages are sent in a stream, one write each.
const messages = 100_000

// stream sends b so many times from rank 0 to the last rank.
func (s *star) stream(b []byte) error {
	for range messages {
		var err error
		switch last := s.size - 1; s.rank {
		case 0:
			_, err = s.conns[last-1].Write(b)
		case last:
			_, err = io.ReadFull(s.conns[0], b)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// pingPong sends b from rank 0 to the last rank, and back.
func (s *star) pingPong(b []byte) (err error) {
	switch last := s.size - 1; s.rank {
	case 0:
		if _, err = s.conns[last-1].Write(b); err == nil {
			_, err = io.ReadFull(s.conns[last-1], b)
		}
	case last:
		if _, err = io.ReadFull(s.conns[0], b); err == nil {
			_, err = s.conns[0].Write(b)
		}
	}
	return err
}

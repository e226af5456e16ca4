package unix

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// MemFile makes a file in memory, without a name in any directory, that lives
// as long as somebody has it open (memfd_create, Linux 3.17). It cannot be
// changed any more. While f is open, others of this user find it at DescriptorPath and
// may execute it or load it as a library.
func MemFile(name string, contents []byte) (f *os.File, err error) {
	const flags = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate(name, flags|unix.MFD_EXEC)
	if err == unix.EINVAL { // before Linux 6.3, where all may be executed
		fd, err = unix.MemfdCreate(name, flags)
	}
	if err != nil {
		return nil, fmt.Errorf("memfd_create: %w", err)
	}
	f = os.NewFile(uintptr(fd), name)
	if _, err := f.Write(contents); err != nil {
		f.Close()
		return nil, fmt.Errorf("write %s: %w", name, err)
	}
	const seals = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals); err != nil {
		f.Close()
		return nil, fmt.Errorf("seal %s: %w", name, err)
	}
	return f, nil
}

// SharedMemory makes a file in memory of so many bytes, those behind its beginning
// zero, that lives as long as somebody has it open or mapped. While f is open, others
// of this user find it at DescriptorPath and may map it for reading and writing; none
// can cut it, which would kill its readers. Pages that nobody has written take no
// memory.
func SharedMemory(name string, beginning []byte, bytes int64) (f *os.File, err error) {
	const flags = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate(name, flags|unix.MFD_NOEXEC_SEAL)
	if err == unix.EINVAL { // before Linux 6.3
		fd, err = unix.MemfdCreate(name, flags)
	}
	if err != nil {
		return nil, fmt.Errorf("memfd_create: %w", err)
	}
	f = os.NewFile(uintptr(fd), name)
	if err = unix.Ftruncate(fd, bytes); err == nil {
		_, err = f.WriteAt(beginning, 0)
	}
	if err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SEAL|unix.F_SEAL_SHRINK|unix.F_SEAL_GROW)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s of %d bytes: %w", name, bytes, err)
	}
	return f, nil
}

// DescriptorPath returns a path by which other processes of this user can open a file
// that this one has open.
func DescriptorPath(f *os.File) string {
	return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), f.Fd())
}

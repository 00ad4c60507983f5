package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"
)

// The numbers in capability.h of the capabilities with which a process writes files of any owner: CAP_CHOWN,
// CAP_DAC_OVERRIDE, CAP_FOWNER, CAP_FSETID, CAP_KILL, CAP_SETGID and CAP_SETUID. Among the others are CAP_SYS_ADMIN, to
// mount, and CAP_SYS_BOOT, to reboot.
var keptCapabilities = []uintptr{0, 1, 3, 4, 5, 6, 7}

const (
	prCapbsetDrop = 24
	// Of capset, with 64 bits in two parts.
	capabilityVersion3 = 0x20080522
)

// Capabilities belong to a thread. The main thread replaces this process.
func init() { runtime.LockOSThread() }

type mount struct {
	source, target, kind string
	flags                uintptr
}

// The only mounts that a program on DISK sees, in their order. The kernel arguments and the ID of the boot are those of
// the machine, and /proc is read-only.
func listMounts(disk string) []mount {
	on := func(path string) string { return filepath.Join(disk, path) }
	mounts := []mount{
		{disk, disk, "", syscall.MS_BIND},
		{"proc", on("proc"), "proc", syscall.MS_RDONLY},
		{on("machine/cmdline"), on("proc/cmdline"), "", syscall.MS_BIND},
		{on("machine/boot_id"), on("proc/sys/kernel/random/boot_id"), "", syscall.MS_BIND},
		{"tmpfs", on("dev"), "tmpfs", syscall.MS_NOEXEC},
	}
	for _, device := range []string{"/dev/null", "/dev/urandom", "/dev/zero"} {
		mounts = append(mounts, mount{device, on(device), "", syscall.MS_BIND})
	}
	return mounts
}

func enter(disk string, command []string) error {
	for _, each := range listMounts(disk) {
		if strings.HasPrefix(each.source, "/dev/") {
			if err := os.WriteFile(each.target, nil, 0o600); err != nil {
				return err
			}
		}
		if err := syscall.Mount(each.source, each.target, each.kind, each.flags, ""); err != nil {
			return fmt.Errorf("cannot mount %s on %s: %w", each.source, each.target, err)
		}
	}
	if err := os.Chdir(disk); err != nil {
		return err
	}
	// The old root lies on top of the new one, until it is detached.
	if err := syscall.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("cannot make %s the root: %w", disk, err)
	}
	if err := syscall.Unmount(".", syscall.MNT_DETACH); err != nil {
		return fmt.Errorf("cannot detach the root of this machine: %w", err)
	}
	if err := dropCapabilities(); err != nil {
		return err
	}
	return become("rhcos", append([]string{"check"}, command...)...)
}

func dropCapabilities() error {
	for capability := uintptr(0); ; capability++ {
		if slices.Contains(keptCapabilities, capability) {
			continue
		}
		_, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prCapbsetDrop, capability, 0)
		if errno == syscall.EINVAL {
			break // This kernel has no more.
		}
		if errno != 0 {
			return fmt.Errorf("cannot drop capability %d: %w", capability, errno)
		}
	}
	header := struct {
		version uint32
		pid     int32
	}{version: capabilityVersion3}
	kept := uint32(keptMask())
	sets := [2]struct{ effective, permitted, inheritable uint32 }{{effective: kept, permitted: kept}}
	_, _, errno := syscall.RawSyscall(syscall.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&sets)), 0)
	if errno != 0 {
		return fmt.Errorf("cannot drop the capabilities: %w", errno)
	}
	return nil
}

func keptMask() (mask uint64) {
	for _, capability := range keptCapabilities {
		mask |= 1 << capability
	}
	return mask
}

func check(command []string) error {
	if problems := findProblems(); len(problems) > 0 {
		return fmt.Errorf("%s could change this machine: %s", command[0], strings.Join(problems, "; "))
	}
	return become(command[0], command[1:]...)
}

var capabilitySets = regexp.MustCompile(`(?m)^(Cap\w+):\s+([0-9a-f]+)$`)

// findProblems returns how this process differs from one that can only change its disk, by what the kernel says.
func findProblems() (problems []string) {
	if os.Getpid() != 1 {
		problems = append(problems, "it is not the first process of a PID namespace")
	}
	status, err := os.ReadFile("/proc/thread-self/status")
	sets := capabilitySets.FindAllStringSubmatch(string(status), -1)
	if err != nil || len(sets) == 0 {
		problems = append(problems, fmt.Sprintf("its capabilities are unknown (%v)", err))
	}
	for _, set := range sets {
		mask, err := strconv.ParseUint(set[2], 16, 64)
		if err != nil || mask&^keptMask() != 0 {
			problems = append(problems, fmt.Sprintf("its capabilities %s are %s", set[1], set[2]))
		}
	}
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return append(problems, fmt.Sprintf("its mounts are unknown (%v)", err))
	}
	var seen, own []string
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		seen = append(seen, strings.Fields(line)[4])
	}
	for _, each := range listMounts("/") {
		own = append(own, each.target)
	}
	if slices.Sort(seen); !slices.Equal(seen, slices.Sorted(slices.Values(own))) {
		problems = append(problems, "it sees the mounts "+strings.Join(seen, ", "))
	}
	return problems
}

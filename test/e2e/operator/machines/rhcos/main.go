// Stands in for Red Hat Enterprise Linux CoreOS on a machine of the tests: a folder that the real machine-config-daemon
// takes for the disk of its host.
//
//	rhcos enter DISK PROGRAM [ARGUMENT...]
//	rhcos check PROGRAM [ARGUMENT...]
//
// `enter` must be the first process of new mount and PID namespaces. It makes DISK its root, gives up its rights on
// this machine, and becomes `check` on the DISK. `check` becomes PROGRAM, or ends if PROGRAM could change this machine.
//
// Under another name it is the program of RHCOS with this name. Without a deployment of OSTree, the booted and the
// staged image and the kernel arguments are in files of the folder /machine.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

func main() {
	name, args := filepath.Base(os.Args[0]), os.Args[1:]
	var err error
	switch {
	case name != "rhcos":
		err = run(name, args)
	case len(args) > 2 && args[0] == "enter":
		err = enter(args[1], args[2:])
	case len(args) > 1 && args[0] == "check":
		err = check(args[1:])
	default:
		err = fmt.Errorf("usage: rhcos enter DISK PROGRAM [ARGUMENT...] | rhcos check PROGRAM [ARGUMENT...]")
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// become replaces this process by a program on the PATH of RHCOS.
func become(program string, args ...string) error {
	file := program
	if !strings.Contains(program, "/") {
		file = filepath.Join("/usr/bin", program)
	}
	err := syscall.Exec(file, append([]string{program}, args...), os.Environ())
	return fmt.Errorf("cannot start %s: %w", file, err)
}

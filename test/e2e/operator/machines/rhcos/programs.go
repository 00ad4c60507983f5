package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	bootedImage     = "/machine/booted"
	stagedImage     = "/machine/staged"
	kernelArguments = "/machine/kargs"
	// The machine boots again when this file exists.
	rebootRequest = "/machine/reboot"
	journal       = "/machine/journal"
	imagePrefix   = "ostree-unverified-registry:"
)

// run does what the machine-config-daemon, or an administrator on the machine, wants of a program.
func run(name string, args []string) error {
	switch name {
	case "rpm-ostree":
		return runRpmOstree(args)
	case "systemd-run":
		if args[len(args)-1] == "systemctl reboot" {
			return os.WriteFile(rebootRequest, nil, 0o644)
		}
	case "systemctl":
		if args[0] == "is-enabled" {
			fmt.Println("disabled")
			os.Exit(1)
		}
	case "journalctl":
		if args[0] == "--list-boots" {
			fmt.Println(" 0", read("/proc/sys/kernel/random/boot_id"))
		}
	case "logger":
		text, err := io.ReadAll(os.Stdin)
		if err != nil {
			return err
		}
		return appendLine(journal, string(text))
	case "podman":
		return runPodman(args)
	case "nice": // -- PROGRAM
		return become(args[1], args[2:]...)
	case "ionice": // -c CLASS PROGRAM
		return become(args[2], args[3:]...)
	case "cat":
		for _, file := range args {
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			os.Stdout.Write(text)
		}
	case "touch":
		file, err := os.OpenFile(args[0], os.O_CREATE, 0o644)
		if err != nil {
			return err
		}
		return file.Close()
	case "cp":
		return copyAll(args[len(args)-2], args[len(args)-1])
	case "chcon", "ostree", "runuser", "update-ca-trust", "usermod":
		// They change what a machine of the tests does not have.
	default:
		return fmt.Errorf("RHCOS has it, but not this machine")
	}
	return nil
}

type deployment struct {
	ID            string   `json:"id"`
	OSName        string   `json:"osname"`
	Serial        int      `json:"serial"`
	Checksum      string   `json:"checksum"`
	BaseChecksum  string   `json:"base-checksum"`
	Version       string   `json:"version"`
	Timestamp     int      `json:"timestamp"`
	Booted        bool     `json:"booted"`
	Staged        bool     `json:"staged"`
	Image         string   `json:"container-image-reference"`
	Packages      []string `json:"requested-packages"`
	LocalPackages []string `json:"requested-base-removals"`
}

func describeDeployment(image string, isBooted bool) deployment {
	return deployment{
		ID: "rhcos-" + image, OSName: "rhcos", Checksum: image, BaseChecksum: image, Version: "9.6",
		Booted: isBooted, Staged: !isBooted, Image: imagePrefix + image, Packages: []string{}, LocalPackages: []string{},
	}
}

func runRpmOstree(args []string) error {
	switch args[0] {
	case "--version":
		fmt.Println("rpm-ostree:\n Version: '2025.7'\n Git: none\n Features:\n  - container")
	case "status":
		deployments := []deployment{describeDeployment(read(bootedImage), true)}
		if staged := read(stagedImage); staged != "" {
			deployments = append(deployments, describeDeployment(staged, false))
		}
		return json.NewEncoder(os.Stdout).Encode(map[string]any{"deployments": deployments, "transaction": nil})
	case "rebase":
		image := strings.TrimPrefix(args[len(args)-1], imagePrefix)
		return os.WriteFile(stagedImage, []byte(image), 0o644)
	case "cleanup":
		if err := os.Remove(stagedImage); err != nil && !os.IsNotExist(err) {
			return err
		}
	case "kargs":
		return changeKernelArguments(args[1:])
	}
	return nil
}

func changeKernelArguments(changes []string) error {
	current := strings.Fields(read(kernelArguments))
	for _, change := range changes {
		option, value, _ := strings.Cut(change, "=")
		switch option {
		case "--append", "--append-if-missing":
			current = append(current, value)
		case "--delete", "--delete-if-present":
			if index := slices.Index(current, value); index >= 0 {
				current = slices.Delete(current, index, index+1)
			}
		}
	}
	if len(changes) == 0 {
		fmt.Println(strings.Join(current, " "))
		return nil
	}
	return os.WriteFile(kernelArguments, []byte(strings.Join(current, " ")), 0o644)
}

// The daemon copies the extensions of an image from a container. No config of the tests has extensions.
func runPodman(args []string) error {
	switch args[0] {
	case "version":
		fmt.Println("5.4.0")
	case "create":
		fmt.Println("container")
	case "cp":
		return os.MkdirAll(args[len(args)-1], 0o755)
	}
	return nil
}

func copyAll(from, to string) error {
	return filepath.Walk(from, func(path string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		target := filepath.Join(to, strings.TrimPrefix(path, from))
		if info.IsDir() {
			return os.MkdirAll(target, info.Mode())
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, text, info.Mode())
	})
}

// read returns the content of a file without its last line break, or nothing.
func read(file string) string {
	text, _ := os.ReadFile(file)
	return strings.TrimSpace(string(text))
}

func appendLine(file, text string) error {
	log, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	_, err = fmt.Fprintln(log, text)
	return err
}

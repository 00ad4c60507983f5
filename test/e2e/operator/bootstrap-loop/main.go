// Runs the bootstrap of the machine-config-controller many times, because its program takes longer to start than to
// render. Each line of the input is JSON: a run. Each line of the output is JSON: what
// cmd/machine-config-controller/bootstrap.go prints and returns for it. The build copies this file into that module.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"runtime/debug"

	"k8s.io/klog/v2"

	"github.com/openshift/machine-config-operator/pkg/controller/bootstrap"
	"github.com/openshift/machine-config-operator/pkg/version"
)

type run struct {
	Manifests  string `json:"manifests"`
	Output     string `json:"output"`
	PullSecret string `json:"pullSecret"`
	Templates  string `json:"templates"`
	Version    string `json:"version"`
}

type result struct {
	ExitCode int    `json:"exitCode"`
	Output   string `json:"output"`
}

func main() {
	flags := flag.NewFlagSet("", flag.ExitOnError)
	klog.InitFlags(flags)
	// By default, klog writes an error also to standard error and to the log of each lower severity.
	for name, value := range map[string]string{"logtostderr": "false", "one_output": "true", "stderrthreshold": "FATAL"} {
		if err := flags.Set(name, value); err != nil {
			log.Fatal(err)
		}
	}
	input := json.NewDecoder(os.Stdin)
	output := json.NewEncoder(os.Stdout)
	for {
		var next run
		if err := input.Decode(&next); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			log.Fatal(err)
		}
		if err := output.Encode(render(next)); err != nil {
			log.Fatal(err)
		}
	}
}

// Like the program, with an error instead of an exit.
func render(next run) (ended result) {
	text := bytes.Buffer{}
	klog.SetOutput(&text)
	defer func() {
		klog.Flush()
		if cause := recover(); cause != nil {
			ended.ExitCode = 2
			fmt.Fprintf(&text, "panic: %v\n\n%s", cause, debug.Stack())
		}
		ended.Output = text.String()
	}()
	// The program reads it from the environment when it starts.
	version.ReleaseVersion = next.Version
	if err := bootstrap.New(next.Templates, next.Manifests, next.PullSecret).Run(next.Output); err != nil {
		klog.Errorf("error running MCC[BOOTSTRAP]: %v\n\n", err)
		ended.ExitCode = 255
	}
	return ended
}

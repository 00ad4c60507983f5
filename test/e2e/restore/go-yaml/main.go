// Formats each line of its input, a value of JSON, as the Machine Config Operator does before it hashes a spec
// (pkg/controller/render/hash.go), and writes the YAML as one line: a JSON string, or null if it cannot be formatted.
package main

import (
	"bufio"
	"encoding/json"
	"log"
	"os"

	"github.com/ghodss/yaml"
)

func main() {
	input := bufio.NewReaderSize(os.Stdin, 1<<20)
	output := json.NewEncoder(os.Stdout)
	output.SetEscapeHTML(false)
	for {
		line, err := input.ReadBytes('\n')
		if len(line) == 0 && err != nil {
			return
		}
		var formatted *string
		// Like spec.config, which is a runtime.RawExtension.
		if text, err := yaml.Marshal(json.RawMessage(line)); err == nil {
			formatted = new(string)
			*formatted = string(text)
		}
		if err := output.Encode(formatted); err != nil {
			log.Fatal(err)
		}
	}
}

// Reads manifests as the two programs of a bootstrap host do. Each line of the input is the content of a file as Base64.
// Each line of the output is JSON: what the bootstrap of the Machine Config Operator reads
// (pkg/controller/bootstrap/bootstrap.go), what cluster-bootstrap reads (library-go, pkg/assets/create/creater.go), and
// how the operator writes it before it hashes it (pkg/controller/render/hash.go).
package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"log"
	"os"

	ghodss "github.com/ghodss/yaml"
	configv1 "github.com/openshift/api/config/v1"
	configv1alpha1 "github.com/openshift/api/config/v1alpha1"
	mcfgv1 "github.com/openshift/api/machineconfiguration/v1"
	operatorv1alpha1 "github.com/openshift/api/operator/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
)

type manifest struct{ raw []byte }

func (m *manifest) UnmarshalJSON(in []byte) error {
	m.raw = nil
	if !bytes.Equal(in, []byte("null")) {
		m.raw = append(m.raw, in...)
	}
	return nil
}

type reading struct {
	Documents []json.RawMessage `json:"documents"`
	Object    json.RawMessage   `json:"object"`
	// Empty if the program accepts the file.
	BootstrapError string `json:"bootstrapError"`
	// Of the decoder of the kinds that the operator knows.
	DecodeError  string `json:"decodeError"`
	ClusterError string `json:"clusterError"`
	// Null if the content is not JSON, or cannot be written.
	YAML *string `json:"yaml"`
}

func main() {
	decoder := newDecoder()
	input := bufio.NewReaderSize(os.Stdin, 1<<20)
	output := json.NewEncoder(os.Stdout)
	for {
		line, err := input.ReadBytes('\n')
		if len(line) == 0 && err != nil {
			return
		}
		content, err := base64.StdEncoding.DecodeString(string(bytes.TrimSpace(line)))
		if err != nil {
			log.Fatal(err)
		}
		if err := output.Encode(read(content, decoder)); err != nil {
			log.Fatal(err)
		}
	}
}

func newDecoder() runtime.Decoder {
	scheme := runtime.NewScheme()
	for _, install := range []func(*runtime.Scheme) error{
		mcfgv1.Install, operatorv1alpha1.Install, configv1.Install, configv1alpha1.Install,
	} {
		if err := install(scheme); err != nil {
			log.Fatal(err)
		}
	}
	return serializer.NewCodecFactory(scheme).UniversalDecoder(
		mcfgv1.GroupVersion, operatorv1alpha1.GroupVersion, configv1.GroupVersion, configv1alpha1.GroupVersion)
}

func read(content []byte, decoder runtime.Decoder) (result reading) {
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 1024)
	for {
		document := manifest{}
		err := documents.Decode(&document)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			result.BootstrapError = err.Error()
			break
		}
		document.raw = bytes.TrimSpace(document.raw)
		if len(document.raw) == 0 {
			continue
		}
		result.Documents = append(result.Documents, document.raw)
		if _, err := runtime.Decode(decoder, document.raw); err != nil && !runtime.IsNotRegisteredError(err) {
			if result.DecodeError == "" {
				result.DecodeError = err.Error()
			}
		}
	}
	// Like spec.config, which is a runtime.RawExtension.
	if written, err := ghodss.Marshal(json.RawMessage(content)); err == nil {
		text := string(written)
		result.YAML = &text
	}
	text, err := ghodss.YAMLToJSON(content)
	if err != nil {
		result.ClusterError = err.Error()
		return result
	}
	object, err := runtime.Decode(unstructured.UnstructuredJSONScheme, text)
	if err != nil {
		result.ClusterError = err.Error()
	} else if _, ok := object.(*unstructured.Unstructured); !ok {
		result.ClusterError = "not one object"
	}
	result.Object = text
	return result
}

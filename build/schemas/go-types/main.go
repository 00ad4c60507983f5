// Prints JSON for build/schemas/collect.ts. `go-types crds FOLDER…` prints each CustomResourceDefinition below the folders
// in one line, with its file. `go-types types` prints JSON schemas of Go types that have no schema of their own: what a
// program decodes with encoding/json.
package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	ignition2 "github.com/coreos/ignition/config/v2_2/types"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubelet "k8s.io/kubelet/config/v1beta1"
	"sigs.k8s.io/yaml"
)

type schema map[string]any

// Types that decode themselves.
var leaves = map[reflect.Type]schema{
	reflect.TypeOf(metav1.Duration{}):   {"type": "string", "format": "go-duration"},
	reflect.TypeOf(metav1.Time{}):       {"type": "string", "format": "date-time"},
	reflect.TypeOf(resource.Quantity{}): {"type": []string{"number", "string"}, "format": "quantity"},
}

var decoder = reflect.TypeOf((*json.Unmarshaler)(nil)).Elem()

func main() {
	output := json.NewEncoder(os.Stdout)
	output.SetEscapeHTML(false)
	switch os.Args[1] {
	case "crds":
		for _, folder := range os.Args[2:] {
			if err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
				if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".yaml") {
					return err
				}
				return printDefinitions(output, path)
			}); err != nil {
				log.Fatal(err)
			}
		}
	case "types":
		for name, value := range map[string]any{
			"k8s.io/kubelet/config/v1beta1 KubeletConfiguration":  kubelet.KubeletConfiguration{},
			"github.com/coreos/ignition/config/v2_2/types Config": ignition2.Config{},
		} {
			if err := output.Encode(map[string]any{"name": name, "schema": describe(reflect.TypeOf(value))}); err != nil {
				log.Fatal(err)
			}
		}
	}
}

func printDefinitions(output *json.Encoder, path string) error {
	content, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(content), "kind: CustomResourceDefinition") {
		return err
	}
	for _, document := range strings.Split(string(content), "\n---\n") {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if object["kind"] == "CustomResourceDefinition" {
			if err := output.Encode(map[string]any{"path": path, "object": object}); err != nil {
				return err
			}
		}
	}
	return nil
}

// describe returns what encoding/json accepts for a type. Fields of embedded structs without a name belong to the outer one.
func describe(kind reflect.Type) schema {
	if leaf, ok := leaves[kind]; ok {
		return leaf
	}
	if reflect.PointerTo(kind).Implements(decoder) {
		return schema{}
	}
	switch kind.Kind() {
	case reflect.Pointer:
		return describe(kind.Elem())
	case reflect.String:
		return schema{"type": "string"}
	case reflect.Bool:
		return schema{"type": "boolean"}
	case reflect.Float32, reflect.Float64:
		return schema{"type": "number"}
	case reflect.Int, reflect.Int64:
		return schema{"type": "integer", "format": "int64"}
	case reflect.Uint32:
		return schema{"type": "integer", "format": "int64"}
	case reflect.Int32:
		return schema{"type": "integer", "format": "int32"}
	case reflect.Slice:
		if kind.Elem().Kind() == reflect.Uint8 {
			return schema{"type": "string", "format": "byte"}
		}
		return schema{"type": "array", "items": describe(kind.Elem())}
	case reflect.Map:
		return schema{"type": "object", "additionalProperties": describe(kind.Elem())}
	case reflect.Struct:
		properties := schema{}
		addFields(kind, properties)
		return schema{"type": "object", "properties": properties}
	default:
		return schema{}
	}
}

func addFields(kind reflect.Type, properties schema) {
	for i := range kind.NumField() {
		field := kind.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "-" || !field.IsExported():
		case field.Anonymous && (name == "" || options == "inline"):
			addFields(field.Type, properties)
		case name == "":
			properties[field.Name] = describe(field.Type)
		default:
			properties[name] = describe(field.Type)
		}
	}
}

// Of the time of a bootstrap, 70 % are the translation of the operator's own templates to Ignition, which are the same
// in most runs. The build copies this file into the package of the templates.
package template

import (
	"fmt"

	ctrlcommon "github.com/openshift/machine-config-operator/pkg/controller/common"
)

var transpiled = map[string]any{}

// The caller only marshals the result.
func transpile(files, units []string) (any, error) {
	key := fmt.Sprintf("%q %q", files, units)
	if config, ok := transpiled[key]; ok {
		return config, nil
	}
	config, err := ctrlcommon.TranspileCoreOSConfigToIgn(files, units)
	if err == nil {
		transpiled[key] = config
	}
	return config, err
}

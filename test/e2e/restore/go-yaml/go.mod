module machineconfig-guard/test/go-yaml

go 1.24.0

// As in go.mod of openshift/machine-config-operator.
require github.com/ghodss/yaml v1.0.1-0.20190212211648-25d852aebe32

require gopkg.in/yaml.v2 v2.4.0 // indirect

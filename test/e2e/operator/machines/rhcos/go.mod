module machineconfig-guard.io/e2e/rhcos

go 1.23

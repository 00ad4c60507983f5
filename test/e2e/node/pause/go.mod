module machineconfig-guard.io/pause

go 1.24.0

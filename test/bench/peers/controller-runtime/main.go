// Command controller-runtime is the webhook that an engineer would write in Go, with the libraries that Kubernetes' own
// controllers are made of: no deletion of a MachineConfig that a node or a pool names. It exists to be measured beside the guard.
package main

import (
	"context"
	"flag"
	"os"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

func main() {
	// --kubeconfig is a flag of controller-runtime's own.
	certDir := flag.String("cert-dir", "", "folder with tls.crt and tls.key")
	port := flag.Int("port", 0, "port on 127.0.0.1")
	mode := flag.String("mode", "scan", "scan: look at every object of the cache; index: ask it for those that name the config; no-op: allow everything, read nothing")
	flag.Parse()
	ctrl.SetLogger(zap.New())
	if err := serve(*mode, webhook.Options{Host: "127.0.0.1", Port: *port, CertDir: *certDir}); err != nil {
		ctrl.Log.Error(err, "cannot serve")
		os.Exit(1)
	}
}

func serve(mode string, options webhook.Options) error {
	ctx := ctrl.SetupSignalHandler()
	server := webhook.NewServer(options)
	if mode == "no-op" {
		server.Register("/validate", &webhook.Admission{Handler: admission.HandlerFunc(allow)})
		return server.Start(ctx)
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	// The API server's fairness bounds what a webhook may ask, not 20 requests a second.
	config.QPS = -1
	manager, err := ctrl.NewManager(config, ctrl.Options{
		WebhookServer: server,
		Metrics:       metricsserver.Options{BindAddress: "0"},
		Cache:         cache.Options{DefaultTransform: cache.TransformStripManagedFields()},
		Client:        client.Options{Cache: &client.CacheOptions{Unstructured: true}},
	})
	if err != nil {
		return err
	}
	for _, kind := range kinds {
		// Starts the informer now, so that not the first review has to wait for it.
		if _, err := manager.GetCache().GetInformer(ctx, kind.object(), cache.BlockUntilSynced(false)); err != nil {
			return err
		}
		if mode != "index" {
			continue
		}
		if err := manager.GetFieldIndexer().IndexField(ctx, kind.object(), byConfig, configsOf); err != nil {
			return err
		}
	}
	manager.GetWebhookServer().Register("/validate", &webhook.Admission{Handler: &guard{
		cached: references{Reader: manager.GetClient(), indexed: mode == "index"},
		live:   references{Reader: manager.GetAPIReader()},
	}})
	return manager.Start(ctx)
}

func allow(context.Context, admission.Request) admission.Response {
	return admission.Allowed("")
}

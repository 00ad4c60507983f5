// Command controller-runtime denies the deletion of a MachineConfig that a node or a pool names. It is the webhook that
// an engineer would write in Go, with the libraries of Kubernetes' own controllers. The bench measures the guard beside
// it.
package main

import (
	"flag"
	"os"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

func main() {
	// controller-runtime defines the flag --kubeconfig.
	certDir := flag.String("cert-dir", "", "folder with tls.crt and tls.key")
	port := flag.Int("port", 0, "port on 127.0.0.1")
	mode := flag.String("mode", "scan", "how to search the cache: scan or index")
	flag.Parse()
	ctrl.SetLogger(zap.New())
	if err := serve(*mode, webhook.Options{Host: "127.0.0.1", Port: *port, CertDir: *certDir}); err != nil {
		ctrl.Log.Error(err, "cannot serve")
		os.Exit(1)
	}
}

func serve(mode string, options webhook.Options) error {
	ctx := ctrl.SetupSignalHandler()
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	// The API server limits its clients itself. The default limit of 20 requests per second would slow down live reads.
	config.QPS = -1
	manager, err := ctrl.NewManager(config, ctrl.Options{
		WebhookServer: webhook.NewServer(options),
		Metrics:       metricsserver.Options{BindAddress: "0"},
		Cache:         cache.Options{DefaultTransform: cache.TransformStripManagedFields()},
		Client:        client.Options{Cache: &client.CacheOptions{Unstructured: true}},
	})
	if err != nil {
		return err
	}
	for _, kind := range kinds {
		// This starts the informer. Otherwise the first review would wait for it.
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

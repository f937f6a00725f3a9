"""Every variant in one line: for help texts, which must not wait for torch."""

DESCRIPTIONS = {
    "k3": "dot-product kernel, L_K and softmax together, softmax classifier (the paper's best)",
    "auto": "k3-tuned or diffusion, whichever validates better; what is used where nothing is said",
    "k3-tuned": "K3 with settings chosen on validation",
    "diffusion": "K3 with ten steps of diffusion in place of exact hops: for few labels",
    "k1": "dot-product kernel, L_K, nearest centroids",
    "k2": "RBF kernel, L_K, nearest centroids",
    "n1": "no kernel loss: the same map with softmax alone",
    "k1-gcn": "K1*: a GCN in the map's place, L_K, nearest centroids",
    "k2-gat": "K2*: a GAT in the map's place, L_K, nearest centroids",
    "presmoothed": "K3 with the hops on the features: no graph while training (like SIGN)",
    "gcn": "baseline: graph convolutions (Kipf & Welling 2017)",
    "gat": "baseline: graph attention (Veličković et al. 2018)",
    "jk": "baseline: jumping knowledge, concatenated (Xu et al. 2018; needs kernode[pyg])",
    "fastgcn": "baseline: convolutions over sampled neighbours (Chen et al. 2018)",
    "sgc": "baseline: logistic regression on smoothed features (Wu et al. 2019)",
    "appnp": "baseline: predict, then propagate (Gasteiger et al. 2019)",
    "kled": "baseline: Laplacian exponential diffusion kernel, no features (Fouss et al. 2006)",
    "smoother": "nothing learned: features averaged over 2 hops (Eq. 5), nearest centroids",
    "similarity": "for finding alike nodes: L_K, the epoch chosen by validation mAP",
}

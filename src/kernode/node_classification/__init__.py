"""Classes of nodes: method, trainer, model, choice by validation, variants, estimators."""

"""Random features: their interface to the engine, their kinds and the compiled tile kernels."""

from dsgkit.features.blocks import BlockSums, FeatureBlocks
from dsgkit.features.catalogue import load_features, random_features
from dsgkit.features.fourier import FourierFeatures
from dsgkit.features.sketch import SketchFeatures
from dsgkit.features.structured import StructuredFeatures

__all__ = [
    "BlockSums",
    "FeatureBlocks",
    "FourierFeatures",
    "SketchFeatures",
    "StructuredFeatures",
    "load_features",
    "random_features",
]

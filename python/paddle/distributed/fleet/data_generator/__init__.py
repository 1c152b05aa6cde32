"""Programs that turn raw lines into MultiSlot text; the same as fluid.incubate.data_generator."""
from paddle.fluid.incubate.data_generator import (DataGenerator, MultiSlotDataGenerator,  # noqa: F401
                                                  MultiSlotStringDataGenerator)

__all__ = ["DataGenerator", "MultiSlotDataGenerator", "MultiSlotStringDataGenerator"]

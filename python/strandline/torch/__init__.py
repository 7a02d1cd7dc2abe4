# SPDX-License-Identifier: Apache-2.0
"""Recording PyTorch's device memory with torch's own recorder.

``strandline run`` does so by itself. In a notebook::

    with sl.torch.record() as r:
        train()
    r.report()

`phase` and `memory_label` name stretches of time and what is allocated meanwhile, `label` the
tensors of a model or an optimiser. torch is never imported by this: it must be already, or be
imported by the program.
"""

from .labels import label, memory_label, phase
from .recording import Recording, record

__all__ = ["Recording", "label", "memory_label", "phase", "record"]

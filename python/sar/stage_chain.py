# SPDX-License-Identifier: GPL-3.0-or-later
"""What blocks made of a chain of stages share."""

from gnuradio import gr


class stage_chain(gr.hier_block2):
    """A hierarchical block of stages in a row; ``stages`` is a dictionary of them by name.

    error(), backend() and bad_lines() speak for the stages inside, which can be asked
    themselves: chain.stages["rcmc"].work_seconds().
    """

    def __init__(self, name, inputs, stages):
        """inputs: bytes of an item for each input; stages: {name: block}, connected in turn,
        input and output 0; the inputs behind the first go to the last stage."""
        first, *_, last = stages.values()
        gr.hier_block2.__init__(
            self, name, gr.io_signature.makev(len(inputs), len(inputs), inputs),
            gr.io_signature(1, 1, last.output_signature().sizeof_stream_item(0)))
        self.stages = stages
        assert inputs[0] == first.input_signature().sizeof_stream_item(0)
        self.connect(self, *stages.values(), self)
        for port in range(1, len(inputs)):
            self.connect((self, port), (last, port))

    def error(self):
        """Empty, or the sentence of the first stage that ended the flowgraph, with its name."""
        for name, stage in self.stages.items():
            if stage.error():
                return f"{name}: {stage.error()}"
        return ""

    def backend(self):
        """Where the stages run."""
        return list(self.stages.values())[-1].backend()

    def bad_lines(self):
        """Lines so far with a value that is not finite; they came out as zeros."""
        return max(s.bad_lines() for s in self.stages.values() if hasattr(s, "bad_lines"))

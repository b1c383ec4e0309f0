"""Elements: individuals that are certainly one, and the graph of A ∪ A⁺ over them."""

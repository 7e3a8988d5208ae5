"""Specs whose products are mistakes."""

MISTAKES = {
    "product_of_what_has_no_common_dimension": """
        @matmul
        def op(x: Tensor[M, N], w: Tensor[K]) -> Value:
            return x @ w
    """,
    "product_over_the_wrong_dimension": """
        @matmul
        def op(x: Tensor[K, M], w: Tensor[K, N]) -> Value:
            return x @ w
    """,
    "product_of_a_value_without_dimensions": """
        @matmul
        def op(x: Tensor[M, K], s: float) -> Value:
            return s @ x
    """,
    "product_with_a_number": """
        @matmul
        def op(x: Tensor[M, K]) -> Value:
            return x @ 2.0
    """,
    "dot_over_a_dimension_that_one_lacks": """
        @matmul
        def op(x: Tensor[M, K], w: Tensor[N, K]) -> Value:
            return dot(x, w, over=(K, N))
    """,
    "dot_over_nothing": """
        @matmul
        def op(x: Tensor[M, K], w: Tensor[N, K]) -> Value:
            return dot(x, w, over=())
    """,
    "product_of_integers_and_floats": """
        @matmul
        def op(x: Tensor[M, K], w: Index[N, K]) -> Value:
            return x @ w.T
    """,
    "product_of_wide_integers": """
        @matmul
        def op(x: Index[M, K], w: Index[N, K]) -> Value:
            return x @ w.T
    """,
    "product_in_an_elementwise_op": """
        @elementwise
        def op(x: Tensor[M, K], w: Tensor[N, K]) -> Value:
            return x @ w.T
    """,
    "product_in_a_rowwise_op": """
        @rowwise
        def op(x: Tensor[M, K], w: Tensor[N, K]) -> Value:
            return sum(x) + x @ w.T
    """,
    "no_product_in_a_matmul_op": """
        @matmul
        def op(x: Tensor[M, K], w: Tensor[N, K]) -> Value:
            return sum(x * w)
    """,
    "product_that_no_family_builds": """
        @matmul
        def op(x: Tensor[M, K], w: Tensor[N, K]) -> Value:
            return x @ w.T
    """,
}

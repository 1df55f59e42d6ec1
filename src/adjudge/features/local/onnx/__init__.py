"""The shipped model on onnxruntime: its tokenizer, its graph, its weights, and
scoring with them.
"""

"""A published encoder of toy size."""

from pathlib import Path

from bitextbench.base.device import torch


def save(folder: Path) -> Path:
    """A BERT of two layers with a word-piece tokenizer, as transformers saves it."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    words = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        *"abcdefghijklmnopqrstuvwxyz:",
        *["the", "night", "bird", "sing", "query"],
    ]
    vocabulary = {
        word: place
        for place, word in enumerate([*words, "##s", *(f"##{letter}" for letter in words[5:31] if letter != "s")])
    }
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    marks = {
        "pad_token": "[PAD]",
        "unk_token": "[UNK]",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
        "mask_token": "[MASK]",
    }
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=16, **marks).save_pretrained(folder)
    torch.manual_seed(1)
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
    config = BertConfig(vocab_size=len(vocabulary), max_position_embeddings=16, initializer_range=0.3, **sizes)
    BertModel(config).save_pretrained(folder)
    return folder

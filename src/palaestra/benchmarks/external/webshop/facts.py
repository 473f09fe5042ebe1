"""What is known of WebShop."""

from palaestra.benchmarks.external.benchmark import Benchmark
from palaestra.benchmarks.external.installation import Installation, Packages, SourceCheckout

WEBSHOP = Benchmark(
    name="webshop",
    env_id="palaestra/WebShop-v0",
    title="WebShop",
    version="64fa2a5",
    licence="MIT",
    source="github.com/princeton-nlp/WebShop; Yao et al. 2022, arXiv:2207.01206",
    installation=Installation(
        packages=(Packages(names=("thefuzz==0.22.1",)),),
        checkout=SourceCheckout(
            repository="github.com/princeton-nlp/WebShop at 64fa2a5, with the data that its setup.sh gets",
            shown_by="data/items_human_ins.json",
        ),
    ),
    splits={"test": "goals 0 to 499", "dev": "goals 500 to 1499", "train": "goals from 1500 on"},
    trainable=("train",),
    options={"data": None, "products": None},
    notes=(
        "The shop is written anew against the data's layout: search is BM25 with Lucene's formula and Pyserini's"
        " parameters, but without its stemming and stop words, so that results come in another order than in the paper;"
        " nouns of titles are told by a list of other words instead of spaCy; prices and their limits, which upstream"
        " draws anew in each process, are drawn from the product's id. Scores are not those of the paper's shop."
    ),
)

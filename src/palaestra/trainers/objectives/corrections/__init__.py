"""What tokens weigh because other weights drew them."""

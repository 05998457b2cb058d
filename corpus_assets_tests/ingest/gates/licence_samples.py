"""Opening words of licences, enough for their fingerprints, as wrapped lines of a file."""

MIT = """The MIT License (MIT)

Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files, to deal in the Software
without restriction.

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.
"""
APACHE = """                 Apache License
           Version 2.0, January 2004
2. Redistribution. 3. Grant of Patent License.
"""
BSD_3 = """Redistribution and use in source and binary forms, with or without
modification, are permitted provided that:
* Redistributions in binary form must reproduce the above copyright notice
* Neither the name of the owner may be used to endorse or promote products
  derived from this software.
"""
GPL_3 = """GNU GENERAL PUBLIC LICENSE Version 3, 29 June 2007
2. Basic Permissions. 5. Conveying Modified Source Versions.
"""
LGPL_3 = "GNU LESSER GENERAL PUBLIC LICENSE Version 3, 29 June 2007"
